FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
WORKDIR /src
RUN printf '__global__ void k() {}\nint main() { k<<<1,1>>>(); }\n' > main.cu
RUN nvcc -O2 \
    -gencode arch=compute_80,code=sm_80 \
    -o /usr/bin/app main.cu
