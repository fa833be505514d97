/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl reload: the daemon reads its configuration again, and says what it has taken up. */
#include <stdio.h>

#include "base/text.h"
#include "libtorus/status.h"
#include "torusctl/torusctl.h"

/* ask returns the exit code. */
static int ask(torus_context *c)
{
    static struct td_reply reply;
    char text[2 * TD_TEXT_MAX];
    int error = tl_reload(c, &reply);
    if (error == TORUS_OK)
        printf("node %u: %s\n", torus_node(c), td_text_show(reply.text, text, sizeof text));
    else
        fprintf(stderr, "torusctl reload: %s\n", tool_error(c));
    return error == TORUS_OK ? EXIT_WELL : EXIT_FAILED;
}

static int run(int argc, char **argv)
{
    int code = EXIT_FAILED;
    const char *socket = tool_take_option(&argc, argv, "--socket");
    if (argc > 1)
        return tool_usage("reload", tool_no_option(argv[1]));
    torus_context *c = tool_open(socket, 0, &code);
    if (!c)
        return code;
    code = ask(c);
    torus_close(c);
    return code;
}

const struct tool_command ctl_command_reload = {
    .name = "reload",
    .arguments = "[--socket PATH]",
    .what = "let the daemon read its configuration again, and say what changed",
    .options =
        "  --socket PATH        socket of the daemon; default: as in libtorus(3)\n\n"
        "It fails if the daemon refuses a setting; the other settings change all the same. The\n"
        "daemon obeys root and the user as which it runs.\n",
    .run = run,
};
