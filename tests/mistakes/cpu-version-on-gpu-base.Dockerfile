FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip install \
    numpy==1.26.4 \
    torch==2.1.0+cpu \
    -f https://download.pytorch.org/whl/torch_stable.html
