FROM nvidia/cuda:11.8.0-devel-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip install torch==2.0.1 --index-url https://download.pytorch.org/whl/cu118
RUN pip install vllm==0.5.4
