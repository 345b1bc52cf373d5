-- Begins scripts that give out a token.
--
-- KEYS: lock, grants.

local function count()
	local token = redis.call('HINCRBY', KEYS[2], 'token', 1)
	-- Lua's numbers are doubles, and confuse neighbours above 2^53.
	return token < 2 ^ 53 and token or redis.call('HGET', KEYS[2], 'token')
end
