FROM python:3.8-slim
RUN apt-get update
RUN pip install torch==1.12.1
