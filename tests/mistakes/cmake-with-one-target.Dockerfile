FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
RUN git clone https://github.com/ggerganov/llama.cpp
WORKDIR /llama.cpp
RUN cmake -B build -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=75-real && cmake --build build -j
