# shellcheck shell=sh
# slurm.sh: settings of Slurm's prolog and epilog, a shell script that they read from /etc/torusd/slurm.sh.
# The values below are the defaults. docs/slurm.md explains them.
#TORUS_SOCKET=/run/torusd/torusd.sock
# Seconds in which torusd must answer, and in which a signal must end a process.
#LIMIT_S=5
# The [torus] shape that the daemons of this cluster have, such as 3x3. Empty: any.
#SHAPE=
# The torusctl that is used.
#TORUSCTL=torusctl
