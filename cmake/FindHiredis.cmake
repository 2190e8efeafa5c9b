# Finds hiredis: Hiredis::hiredis. With Hiredis_USE_STATIC_LIBS, the static library if there is one.
find_path(Hiredis_INCLUDE_DIR hiredis/hiredis.h)
if(Hiredis_USE_STATIC_LIBS)
  find_library(Hiredis_LIBRARY NAMES libhiredis.a hiredis)
else()
  find_library(Hiredis_LIBRARY hiredis)
endif()
mark_as_advanced(Hiredis_INCLUDE_DIR Hiredis_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hiredis DEFAULT_MSG Hiredis_LIBRARY Hiredis_INCLUDE_DIR)

if(Hiredis_FOUND AND NOT TARGET Hiredis::hiredis)
  add_library(Hiredis::hiredis UNKNOWN IMPORTED)
  set_target_properties(Hiredis::hiredis PROPERTIES
    IMPORTED_LOCATION ${Hiredis_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${Hiredis_INCLUDE_DIR})
endif()
