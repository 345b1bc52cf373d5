-- Begins scripts that take a lock.

-- late tells whether a request of an owner comes after the tenure that it asks for: the last
-- tenure that was given back is the owner's.
local function late(freed, owner)
	return freed and string.sub(freed, 1, #owner + 1) == owner .. '#'
end
