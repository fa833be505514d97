# SPDX-License-Identifier: Apache-2.0
# places: files that contain paths of other installed files. `cmake --install --prefix` may use another
# prefix than the build. Therefore this script runs during the installation. install.cmake sets source,
# binary, and the folder names of GNUInstallDirs.
cmake_policy(VERSION 3.25)

# As GNUInstallDirs, but with /etc for /usr/local too. td_config_default applies the same rule.
if(IS_ABSOLUTE "${sysconfdir}")
    set(configuration "${sysconfdir}/torusd")
elseif(sysconfdir STREQUAL "etc" AND CMAKE_INSTALL_PREFIX MATCHES "^(/|/usr|/usr/local)/?$")
    set(configuration /etc/torusd)
elseif(sysconfdir STREQUAL "etc" AND CMAKE_INSTALL_PREFIX MATCHES "^/opt/")
    set(configuration "/etc${CMAKE_INSTALL_PREFIX}/torusd")
else()
    set(configuration "${CMAKE_INSTALL_PREFIX}/${sysconfdir}/torusd")
endif()

foreach(name bindir sbindir libdir libexecdir datadir includedir mandir)
    set(${name}_full "${${name}}")
    cmake_path(ABSOLUTE_PATH ${name}_full BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" NORMALIZE)
endforeach()

# ProtectHome= and PrivateTmp= hide these folders from the services: they see the installation alone,
# whoever may enter the folders above it.
set(home "ProtectHome=yes")
if(CMAKE_INSTALL_PREFIX MATCHES "^/(home|root|run/user|tmp|var/tmp)(/|$)")
    set(home "ProtectHome=tmpfs\nBindReadOnlyPaths=${CMAKE_INSTALL_PREFIX}")
endif()

# place installs FILE as FOLDER/NAME, with the paths of this installation. PROGRAM: an executable one.
function(place file folder name)
    file(READ "${file}" text)
    string(REPLACE "/usr/bin/torusctl" "${bindir_full}/torusctl" text "${text}")
    string(REPLACE "/usr/sbin/" "${sbindir_full}/" text "${text}")
    string(REPLACE "/usr/libexec/" "${libexecdir_full}/" text "${text}")
    string(REPLACE "/etc/torusd" "${configuration}" text "${text}")
    string(REPLACE "ProtectHome=yes" "${home}" text "${text}")
    string(REPLACE "@prefix@" "${CMAKE_INSTALL_PREFIX}" text "${text}")
    string(REPLACE "@libdir@" "${libdir_full}" text "${text}")
    string(REPLACE "@includedir@" "${includedir_full}" text "${text}")
    string(REPLACE "@version@" "${version}" text "${text}")
    file(REMOVE "${binary}/placed/${name}")
    file(WRITE "${binary}/placed/${name}" "${text}")
    set(type FILE)
    if("PROGRAM" IN_LIST ARGN)
        set(type PROGRAM)
    endif()
    file(INSTALL DESTINATION "${folder}" TYPE ${type} FILES "${binary}/placed/${name}")
    set(CMAKE_INSTALL_MANIFEST_FILES "${CMAKE_INSTALL_MANIFEST_FILES}" PARENT_SCOPE)
endfunction()

set(lib "${CMAKE_INSTALL_PREFIX}/lib") # systemd reads this folder, whatever libdir is
foreach(unit torusd.service torusd@.service torusd.socket torusd-emulated.target torusd-plans.socket
        torusd-plans@.service)
    place("${source}/systemd/${unit}" "${lib}/systemd/system" ${unit})
endforeach()
place("${source}/systemd/user/torusd.service" "${lib}/systemd/user" torusd.service)
place("${source}/systemd/torusd.sysusers" "${lib}/sysusers.d" torusd.conf)
place("${source}/systemd/torusd.tmpfiles" "${lib}/tmpfiles.d" torusd.conf)
# Slurm: the files in share are examples.
place("${source}/conf/slurm/prolog.sh" "${libexecdir_full}/torus" slurm-prolog PROGRAM)
place("${source}/conf/slurm/epilog.sh" "${libexecdir_full}/torus" slurm-epilog PROGRAM)
place("${source}/conf/slurm/slurm.conf" "${datadir_full}/torus/slurm" slurm.conf)
place("${source}/conf/slurm/slurm.sh" "${datadir_full}/torus/slurm" slurm.sh)
place("${source}/client/libtorus/torus.pc.in" "${libdir_full}/pkgconfig" torus.pc)
foreach(page ${pages})
    cmake_path(GET page FILENAME name)
    string(REGEX MATCH "[0-9]$" chapter "${name}")
    place("${page}" "${mandir_full}/man${chapter}" "${name}")
endforeach()
if(EXISTS "$ENV{DESTDIR}${configuration}/torusd.conf")
    message(STATUS "Kept: $ENV{DESTDIR}${configuration}/torusd.conf")
else()
    place("${source}/conf/torusd.conf" "${configuration}" torusd.conf)
endif()
file(MAKE_DIRECTORY "$ENV{DESTDIR}${configuration}/torusd.conf.d")
