FROM nvidia/cuda:11.0-cudnn8-devel-ubuntu18.04
RUN nvcc --version
