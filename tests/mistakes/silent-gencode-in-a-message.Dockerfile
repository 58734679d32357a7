FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
RUN echo 'build with nvcc -gencode arch=compute_35,code=sm_35 main.cu' > /README
LABEL arch="TORCH_CUDA_ARCH_LIST=3.5"
