# Options and warning flags of the whole build.
set(FARSKIP_SANITIZER "" CACHE STRING "value of -fsanitize=, empty for none")
set(FARSKIP_WARNINGS -Wall -Wextra -Wno-unused-parameter -Werror)

if(FARSKIP_SANITIZER)
  add_compile_options(-fsanitize=${FARSKIP_SANITIZER} -fno-omit-frame-pointer -fno-sanitize=vptr)
  add_link_options(-fsanitize=${FARSKIP_SANITIZER})
endif()
