FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y libnccl2=2.21.5-1+cuda12.4 libcudnn9-cuda-12
