FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y cuda-nvcc-12-8 cuda-libraries-dev-12-8 python3-pip git
ENV TORCH_CUDA_ARCH_LIST="7.5;8.0;8.6;8.9;9.0;10.0+PTX"
RUN git clone https://github.com/NVIDIA/apex /apex && cd /apex && python3 setup.py install --cuda_ext
