FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime
RUN pip install torch==2.8.0 timm
