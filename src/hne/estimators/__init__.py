"""The doors for scikit-learn's users: HNE and LinearHNE, new samples, saved models."""
