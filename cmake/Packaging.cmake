# A Debian package, by `scripts/package` or, in a release build, `cpack`.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rlock)
set(CPACK_PACKAGE_VENDOR "The rlock authors")
set(CPACK_PACKAGE_CONTACT "The rlock authors <maintainers@rlock.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "locks for a fleet of machines, on Redis or Valkey")
set(CPACK_PACKAGE_DESCRIPTION
"rlock is flock(1) for a fleet of machines, and a debugger for Redis locks.
It runs a command while it holds a lock that a Redis or Valkey server keeps,
so that cron jobs, deploy scripts and services on different hosts exclude
each other. The lock is a lease: it is renewed while the command runs, given
back when the command ends, and ends by itself soon after its host has died.
.
It writes the format of Redisson, so that shell scripts and Java services
exclude each other, and the strings that most other libraries use. It shows
who holds a lock and who waits for it, and mends what is stuck.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# For local: and for those who keep the locks on the same machine.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "redis-server | valkey-server")
# What Debian wants and other systems do not: compressed pages, a changelog, a copyright.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/DebianTree.cmake)
set(CPACK_RLOCK_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
include(CPack)
