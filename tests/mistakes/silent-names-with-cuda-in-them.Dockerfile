FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip3 install cuda-python==12.8.0 nvidia-ml-py pycuda
