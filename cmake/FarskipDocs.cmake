# Target `docs`: the reference of dialects and passes, in Markdown, from their TableGen definitions, in build/<preset>/docs.
add_custom_target(docs)

# farskip_doc(NAME FILE GENERATOR...): docs/NAME.md from the .td file.
function(farskip_doc name file)
  set(output ${CMAKE_BINARY_DIR}/docs/${name}.md)
  get_filename_component(folder ${output} DIRECTORY)
  file(GLOB definitions CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/dialects/*/*.td ${CMAKE_SOURCE_DIR}/passes/*/*.td)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${MLIR_TABLEGEN_EXE} ${ARGN} ${CMAKE_SOURCE_DIR}/${file} -I ${CMAKE_SOURCE_DIR} -I ${LLVM_INCLUDE_DIRS} -o ${output}
    DEPENDS ${definitions} VERBATIM)
  string(REPLACE "/" "-" target ${name})
  add_custom_target(docs-${target} DEPENDS ${output})
  add_dependencies(docs docs-${target})
endfunction()

farskip_doc(dialects/onnx dialects/Onnx/OnnxOps.td -gen-dialect-doc -dialect=onnx)
farskip_doc(dialects/moe dialects/Moe/MoeOps.td -gen-dialect-doc -dialect=moe)
farskip_doc(dialects/rt dialects/Rt/RtOps.td -gen-dialect-doc -dialect=rt)
foreach(family Recognise Residual Raise Shard Overlap Lower)
  string(TOLOWER ${family} file)
  farskip_doc(passes/${file} passes/${family}/Passes.td -gen-pass-doc)
endforeach()
