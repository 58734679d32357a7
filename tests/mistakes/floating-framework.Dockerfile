FROM pytorch/pytorch
RUN pip install transformers==4.44.0
