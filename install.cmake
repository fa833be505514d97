# SPDX-License-Identifier: Apache-2.0
# install: all files, in the folders of a distribution.
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/torus)

install(TARGETS torusd RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR})
install(TARGETS torusctl RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(tool torusctl torus-plan torus-array)
    install(FILES client/tool/completion.bash RENAME ${tool}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endforeach()
# Include path of the header: in this tree, and in the installed package.
set_target_properties(torus PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
    "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/client>;$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
install(TARGETS torus EXPORT torus LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES client/torus/torus.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/torus)

# Open MPI finds its component there: OMPI_MCA_mca_base_component_path, docs/mpi.md.
if(TORUS_OPENMPI_BUILT)
    install(TARGETS mca_coll_torus LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/torus/openmpi)
endif()

# find_package(torus) defines torus::torus.
file(WRITE ${CMAKE_BINARY_DIR}/torus-config.cmake
    "include(\${CMAKE_CURRENT_LIST_DIR}/torus-targets.cmake)\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/torus-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(EXPORT torus FILE torus-targets.cmake NAMESPACE torus:: DESTINATION ${package})
install(FILES ${CMAKE_BINARY_DIR}/torus-config.cmake ${CMAKE_BINARY_DIR}/torus-config-version.cmake
        DESTINATION ${package})

find_program(SCDOC scdoc)
if(SCDOC)
    foreach(page torusctl.1 torus-plan.1 torus-array.1 torus-sim.1 libtorus.3 torusd.conf.5 torusd.8)
        set(made ${CMAKE_BINARY_DIR}/man/${page})
        set(source ${CMAKE_SOURCE_DIR}/docs/man/${page}.scd)
        add_custom_command(OUTPUT ${made} DEPENDS ${source} VERBATIM
            COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
            COMMAND sh -c "exec \"$1\" <\"$2\" >\"$3\"" scdoc ${SCDOC} ${source} ${made})
        list(APPEND pages ${made})
    endforeach()
    add_custom_target(man ALL DEPENDS ${pages})
else()
    message(STATUS "scdoc not found: the man pages are not built")
endif()
# a page for each function, from the comments of torus.h
set(made ${CMAKE_BINARY_DIR}/man/functions)
set(header ${CMAKE_SOURCE_DIR}/client/torus/torus.h)
set(maker ${CMAKE_SOURCE_DIR}/docs/man/functions.py)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/functions.stamp DEPENDS ${header} ${maker} VERBATIM
    COMMAND ${TORUS_PYTHON} ${maker} ${header} ${PROJECT_VERSION} ${made}
    COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/man/functions.stamp)
add_custom_target(man_functions ALL DEPENDS ${CMAKE_BINARY_DIR}/man/functions.stamp)
install(DIRECTORY ${made}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)

# Configuration, units, torus.pc and man pages contain paths below the prefix of the installation.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/placed)
install(CODE "
    set(source [==[${CMAKE_SOURCE_DIR}]==])
    set(binary [==[${CMAKE_BINARY_DIR}]==])
    set(version ${PROJECT_VERSION})
    set(bindir [==[${CMAKE_INSTALL_BINDIR}]==])
    set(sbindir [==[${CMAKE_INSTALL_SBINDIR}]==])
    set(libdir [==[${CMAKE_INSTALL_LIBDIR}]==])
    set(libexecdir [==[${CMAKE_INSTALL_LIBEXECDIR}]==])
    set(datadir [==[${CMAKE_INSTALL_DATADIR}]==])
    set(includedir [==[${CMAKE_INSTALL_INCLUDEDIR}]==])
    set(mandir [==[${CMAKE_INSTALL_MANDIR}]==])
    set(sysconfdir [==[${CMAKE_INSTALL_SYSCONFDIR}]==])
    set(pages [==[${pages}]==])
")
install(SCRIPT places.cmake)

install(DIRECTORY conf/prometheus DESTINATION ${CMAKE_INSTALL_DATADIR}/torus)

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING PATTERN "*.md"
        PATTERN "*.png" PATTERN man EXCLUDE)
install(DIRECTORY client/examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
        FILES_MATCHING PATTERN "*.c")
install(DIRECTORY client/python/examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
        FILES_MATCHING PATTERN "*.py")
