"""Deciding: budgets, policies, stages and plans. Pure: no clock, no file, no model."""
