FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip git
RUN pip3 install torch==2.4.0
ENV TORCH_CUDA_ARCH_LIST="7.0"
RUN git clone https://github.com/NVIDIA/apex /apex && cd /apex && python3 setup.py install --cuda_ext
