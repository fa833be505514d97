/* SPDX-License-Identifier: Apache-2.0 */
/* version: preloaded, it makes libtorus look like another version. */
int torus_version(void);
int torus_version(void)
{
    return 1;
}
