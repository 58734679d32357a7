FROM registry.example.com/mirror/nvidia/cuda:11.7.0-runtime-ubuntu22.04 AS old
RUN echo kept
FROM python:3.12-slim
RUN pip install flask
