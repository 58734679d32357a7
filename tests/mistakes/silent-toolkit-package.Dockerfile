FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y cuda-toolkit-12-8 cuda-libraries-12-8 cuda-cudart-12-8
