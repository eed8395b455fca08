# The bundle of the HTML report as a source of the program: ROLLCAST_PAGE_SOURCE. Packages are fetched into the
# build folder when package.json or its lock changes, and only then. Without node and npm the page is empty, and
# --html says so.
set(ROLLCAST_PAGE_SOURCE ${CMAKE_BINARY_DIR}/html/embedded_page.cpp)
find_program(ROLLCAST_NODE node)
find_program(ROLLCAST_NPM npm)

# npm ci of a folder with package.json and package-lock.json into `target`; `stamp` is newer than both when done.
function(rollcast_npm_packages folder target stamp)
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} -DNPM=${ROLLCAST_NPM} -DFROM=${folder} -DTO=${target} -DSTAMP=${stamp}
            -P ${CMAKE_SOURCE_DIR}/reports/html/packages.cmake
    DEPENDS ${folder}/package.json ${folder}/package-lock.json
    COMMENT "Packages of ${folder}" VERBATIM)
endfunction()

if(ROLLCAST_HTML AND ROLLCAST_NODE AND ROLLCAST_NPM)
  set(page_packages ${CMAKE_BINARY_DIR}/html/packages.stamp)
  rollcast_npm_packages(${CMAKE_SOURCE_DIR}/reports/html ${CMAKE_BINARY_DIR}/html ${page_packages})
  file(GLOB page_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/reports/html/*.js
       ${CMAKE_SOURCE_DIR}/reports/html/*.css ${CMAKE_SOURCE_DIR}/reports/html/*.html)
  add_custom_command(OUTPUT ${ROLLCAST_PAGE_SOURCE}
    COMMAND ${ROLLCAST_NODE} ${CMAKE_SOURCE_DIR}/reports/html/bundle.mjs ${CMAKE_BINARY_DIR}/html
            ${ROLLCAST_PAGE_SOURCE}
    DEPENDS ${page_packages} ${page_sources} ${CMAKE_SOURCE_DIR}/reports/html/bundle.mjs
    COMMENT "Bundling the HTML report" VERBATIM)
else()
  if(ROLLCAST_HTML)
    message(STATUS "No node and npm: the program is built without the HTML report")
  endif()
  file(CONFIGURE OUTPUT ${ROLLCAST_PAGE_SOURCE} CONTENT
"#include \"reports/html_page.hpp\"

namespace rollcast {

std::string_view embedded_page() { return {}; }

}  // namespace rollcast
")
endif()
