-- Runs commands if a claim is admitted by the mark of its scope, and raises the mark.
--
-- KEYS[1] is the mark; the keys of the commands follow, one each.
-- ARGV: the claim's token; its sequence number, 'shared', or ''; then for each command its
-- name, the number of its further arguments, and these.
--
-- Returns {nil, answers…}, or, where a command failed, {its error, answers of those before
-- it…}, or, where the claim is refused, the mark. The script itself fails only before the mark
-- is raised: its error says that nothing was done.
--
-- Numbers stay decimal texts: Lua's are doubles, and confuse neighbours above 2^53.

local token, how = ARGV[1], ARGV[2]
local mark = redis.call('GET', KEYS[1])

if mark ~= token or how ~= '' then -- most often the claim's token is the mark already
	local exclusive, done, shared = string.match(mark or '0', '^(%d+) (%d+) (%d+)$')
	if not exclusive then
		exclusive, done, shared = mark or '0', '0', '0'
	end
	for _, text in ipairs({exclusive, done, shared}) do
		if text ~= '0' and (#text > 19 or not string.find(text, '^[1-9]%d*$')) then
			return redis.error_reply('ERR the mark ' .. KEYS[1] .. ' is damaged')
		end
	end

	local function above(a, b)
		return #a > #b or #a == #b and a > b
	end
	local refused = above(exclusive, token)
	if how ~= 'shared' then
		refused = refused or above(shared, token)
		refused = refused or token == exclusive and how ~= '' and not above(how, done)
	end
	if refused then
		return mark
	end

	if how ~= 'shared' then
		mark = above(token, exclusive) and token or mark
	elseif above(token, exclusive) and above(token, shared) then
		mark = exclusive .. ' ' .. done .. ' ' .. token
	end
end

-- The mark comes first, and is written also where it stays the same: it is there where a
-- command fails, and who may not write it does nothing else. So a replica, whose mark may be an
-- old one, admits no reads.
redis.call('SET', KEYS[1], mark)

local answers = {false}
local next = 3
for i = 2, #KEYS do
	local last = next + 1 + ARGV[next + 1]
	local answer = redis.pcall(ARGV[next], KEYS[i], unpack(ARGV, next + 2, last))
	if type(answer) == 'table' and answer.err then
		answers[1] = answer.err
		return answers
	end
	answers[i] = answer
	next = last + 1
end
if how ~= '' and how ~= 'shared' then
	redis.call('SET', KEYS[1], token .. ' ' .. how .. ' 0')
end
return answers
