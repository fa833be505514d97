# SPDX-License-Identifier: Apache-2.0
# cmake -DFROM=page.html -DTO=page_text.c -P embed.cmake: write the page as a constant of C.
file(READ ${FROM} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
file(WRITE ${TO} "#include \"io/metrics/page.h\"\nconst char td_page_text[] = {${bytes}0};\n"
     "const size_t td_page_bytes = sizeof td_page_text - 1;\n")
