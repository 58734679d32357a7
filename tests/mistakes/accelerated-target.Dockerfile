FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
RUN nvcc -arch=sm_90a -o /usr/bin/app /src/main.cu
