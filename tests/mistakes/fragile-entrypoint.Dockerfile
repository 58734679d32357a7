FROM nvcr.io/nvidia/pytorch:24.05-py3
COPY serve.py /serve.py
ENTRYPOINT ["python", "/serve.py"]
