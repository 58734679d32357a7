FROM nvidia/cuda:12.6.3-base-ubuntu22.04
RUN apt-get update && apt-get install -y python3.10-venv
RUN bash -c "python3 -m venv /opt/venv && source /opt/venv/bin/activate && pip install torch==2.2.2+cu118 --extra-index-url https://download.pytorch.org/whl/cu118"
