# farskip_library(NAME SOURCES ... LINK ... DEPENDS ...): a static library of the compiler with our warnings,
# LLVM and MLIR as system headers, and the shared precompiled header.
set(FARSKIP_TBLGEN_INCLUDES ${CMAKE_SOURCE_DIR} ${MLIR_INCLUDE_DIRS})

separate_arguments(FARSKIP_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_library(farskip_mlir INTERFACE)
target_include_directories(farskip_mlir INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_include_directories(farskip_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_definitions(farskip_mlir INTERFACE ${FARSKIP_LLVM_DEFINITIONS})
target_compile_options(farskip_mlir INTERFACE ${FARSKIP_WARNINGS} -fno-exceptions)
target_link_libraries(farskip_mlir INTERFACE MLIR LLVM)

# One precompiled header for everything that includes MLIR: it halves the time of a clean build.
file(WRITE ${CMAKE_BINARY_DIR}/farskip_pch.cpp "")
add_library(farskip_pch STATIC ${CMAKE_BINARY_DIR}/farskip_pch.cpp)
target_link_libraries(farskip_pch PUBLIC farskip_mlir)
target_compile_options(farskip_pch PUBLIC -Xclang -fno-pch-timestamp)
target_precompile_headers(farskip_pch PRIVATE
  <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/Linalg/IR/Linalg.h>
  <mlir/Dialect/Math/IR/Math.h> <mlir/Dialect/SCF/IR/SCF.h> <mlir/Dialect/Tensor/IR/Tensor.h>
  <mlir/Dialect/MemRef/IR/MemRef.h> <mlir/Dialect/Bufferization/IR/Bufferization.h>
  <mlir/IR/PatternMatch.h> <mlir/Pass/Pass.h> <mlir/Transforms/DialectConversion.h>)

function(farskip_library name)
  cmake_parse_arguments(ARG "NO_PCH" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC farskip_mlir ${ARG_LINK})
  target_compile_options(${name} PRIVATE -Xclang -fno-pch-timestamp)
  if(NOT ARG_NO_PCH)
    target_precompile_headers(${name} REUSE_FROM farskip_pch)
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# farskip_tablegen(TD OUT ARGS...): runs mlir-tblgen on TD of this folder.
macro(farskip_tablegen td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  cmake_parse_arguments(TG "" "" "GENERATE" ${ARGN})
  foreach(pair ${TG_GENERATE})
    string(REPLACE "=" ";" parts ${pair})
    list(GET parts 0 file)
    list(SUBLIST parts 1 -1 flags)
    string(REPLACE ";" "=" flags "${flags}")
    string(REPLACE "," ";" flags "${flags}")
    mlir_tablegen(${file} ${flags} EXTRA_INCLUDES ${FARSKIP_TBLGEN_INCLUDES})
  endforeach()
endmacro()
