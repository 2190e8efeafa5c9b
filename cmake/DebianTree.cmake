# Run by cpack between the installation into its tree and the package.
set(tree ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(docs ${tree}/share/doc/rlock)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, if there is one
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
file(WRITE ${docs}/changelog.Debian
"rlock (${version}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")

# The license, as a field of several lines: indented, a dot for an empty line.
file(STRINGS ${CPACK_RLOCK_LICENSE} lines)
set(copyright "")
set(text "")
foreach(line IN LISTS lines)
  if(line MATCHES "^Copyright \\(c\\) (.*)$")
    set(copyright ${CMAKE_MATCH_1})
  elseif(NOT line STREQUAL "MIT License")
    string(APPEND text " ${line}\n")
  endif()
endforeach()
string(REGEX REPLACE "^( \n)+" "" text "${text}")
string(REPLACE "\n \n" "\n .\n" text "${text}")
file(WRITE ${docs}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: rlock

Files: *
Copyright: ${copyright}
License: Expat

License: Expat
${text}")

file(GLOB pages ${tree}/share/man/man1/*.1)
run(gzip -9nf ${pages} ${docs}/changelog.Debian)
# A checkout may have the modes of any umask.
run(chmod -R u=rwX,go=rX ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
