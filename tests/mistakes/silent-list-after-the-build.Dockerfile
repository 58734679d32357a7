FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
RUN git clone https://github.com/NVIDIA/apex /apex && cd /apex && TORCH_CUDA_ARCH_LIST="7.5;8.0;8.6;8.9;9.0;10.0+PTX" python3 setup.py install
ENV TORCH_CUDA_ARCH_LIST=9.0
ENV CUDAARCHS=90
ENV CMAKE_ARGS=-DCMAKE_CUDA_ARCHITECTURES=90
