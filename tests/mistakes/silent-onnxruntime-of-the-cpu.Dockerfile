FROM python:3.11-slim
RUN pip install onnxruntime==1.20.1 numpy
