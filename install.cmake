# SPDX-License-Identifier: Apache-2.0
# Everything where a distribution would put it.
include(CMakePackageConfigHelpers)

set_target_properties(torus PROPERTIES PUBLIC_HEADER ${CMAKE_SOURCE_DIR}/client/torus/torus.h)
target_include_directories(torus INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS torusd RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR})
install(TARGETS torusctl RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS torus LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/torus)
install(FILES ${CMAKE_BINARY_DIR}/torus.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

file(WRITE ${CMAKE_BINARY_DIR}/torus-config.cmake
"add_library(torus::torus SHARED IMPORTED)
get_filename_component(_torus_prefix \"\${CMAKE_CURRENT_LIST_DIR}/../../..\" ABSOLUTE)
set_target_properties(torus::torus PROPERTIES
    IMPORTED_LOCATION \"${CMAKE_INSTALL_FULL_LIBDIR}/libtorus.so\"
    INTERFACE_INCLUDE_DIRECTORIES \"${CMAKE_INSTALL_FULL_INCLUDEDIR}\")
")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/torus-config-version.cmake
    VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/torus-config.cmake ${CMAKE_BINARY_DIR}/torus-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/torus)

install(FILES conf/torusd.conf DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/torusd)
install(FILES systemd/torusd.service systemd/torusd@.service DESTINATION lib/systemd/system)
install(FILES systemd/torusd.sysusers DESTINATION lib/sysusers.d RENAME torusd.conf)
install(FILES systemd/torusd.tmpfiles DESTINATION lib/tmpfiles.d RENAME torusd.conf)

find_program(SCDOC scdoc REQUIRED)
file(GLOB pages RELATIVE ${CMAKE_SOURCE_DIR}/docs/man ${CMAKE_SOURCE_DIR}/docs/man/*.scd)
set(manuals)
foreach(page ${pages})
    string(REGEX REPLACE "\\.scd$" "" manual ${page})
    string(REGEX REPLACE ".*\\.([0-9])$" "\\1" section ${manual})
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/${manual}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
        COMMAND sh -c "${SCDOC} < ${CMAKE_SOURCE_DIR}/docs/man/${page} > ${CMAKE_BINARY_DIR}/man/${manual}"
        DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/${page} VERBATIM)
    list(APPEND manuals ${CMAKE_BINARY_DIR}/man/${manual})
    install(FILES ${CMAKE_BINARY_DIR}/man/${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
add_custom_target(manuals ALL DEPENDS ${manuals})
install(FILES LICENSE README.md docs/patents.md docs/architecture.md docs/protocol.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
install(DIRECTORY client/examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
