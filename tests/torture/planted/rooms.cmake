# Read by cmake behind project(rlock): compiles the rooms in which most bugs are planted file by file.
cmake_language(DEFER CALL set_target_properties rlock_base rlock_redis rlock_lock rlock_process
  PROPERTIES UNITY_BUILD OFF)
