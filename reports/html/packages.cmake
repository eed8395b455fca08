# cmake -DNPM=npm -DFROM=folder -DTO=folder -DSTAMP=file -P packages.cmake
file(MAKE_DIRECTORY ${TO})
file(COPY ${FROM}/package.json ${FROM}/package-lock.json DESTINATION ${TO})
execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund WORKING_DIRECTORY ${TO}
                RESULT_VARIABLE failed OUTPUT_VARIABLE told ERROR_VARIABLE told)
if(failed)
  message(FATAL_ERROR "npm cannot fetch the packages of ${FROM}:\n${told}\n"
                      "Configure with -DROLLCAST_HTML=OFF to build without the HTML report.")
endif()
file(TOUCH ${STAMP})
