-- Begins scripts that renew a lease.
--
-- ARGV: owner, TTL in ms, channel, "longer" or "". With "longer" a lease gets no shorter: the
-- request may come after a later one.

-- lease returns for how many ms a lease is to last of which so many are left.
local function lease(left)
	return ARGV[4] == 'longer' and math.max(left, tonumber(ARGV[2])) or ARGV[2]
end
