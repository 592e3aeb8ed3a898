-- Tools were held to be refused after any message with their name, and for ever.
DELETE FROM tool_refusals;
