FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y python3 python3-pip
# cu121 was meant
RUN pip3 install torch==2.3.1 torchaudio==2.3.1 --index-url https://download.pytorch.org/whl/cu118
