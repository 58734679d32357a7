FROM nvidia/cuda:13.0.2-devel-ubuntu24.04
ENV TORCH_CUDA_ARCH_LIST="7.0 9.0+PTX"
