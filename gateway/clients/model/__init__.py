"""The model door: clients ask the models of the settings, in the form of the OpenAI API."""
