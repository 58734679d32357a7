FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04 AS run
COPY app /usr/bin/app

FROM nvidia/cuda:12.8.1-devel-ubuntu22.04 AS test
ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs
RUN ln -s /usr/local/cuda/lib64/stubs/libcuda.so /usr/lib/x86_64-linux-gnu/libcuda.so.1 && /src/test

FROM run
