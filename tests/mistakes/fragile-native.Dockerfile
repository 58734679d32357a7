FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
COPY . /src
RUN cmake -S /src -B /build -DCMAKE_CUDA_ARCHITECTURES=native \
    && cmake --build /build
