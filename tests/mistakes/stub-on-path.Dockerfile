FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
ENV CUDA_HOME=/usr/local/cuda
ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs:/usr/local/cuda/lib64
RUN apt-get update && apt-get install -y cmake
