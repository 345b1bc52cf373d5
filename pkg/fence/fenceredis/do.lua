-- Runs commands if a claim is admitted by the mark of its scope, and raises the mark.
--
-- KEYS[1] is the mark; the keys of the commands follow, one each.
-- ARGV: the claim's token; its sequence number, 'shared', 'write', or ''; then for each command its
-- name, the number of its further arguments, and these. A single command without a sequence
-- number has no number of arguments. 'write' is '' with a single command that every Redis knows as
-- a write.
--
-- Returns the list of the commands' answers. Where a command failed, the last one is its error.
-- Of a single command without a sequence number it returns the answer itself, or 'FAILED' and its
-- error; where the claim is refused, the error is 'REFUSED' and the mark. With another error the
-- script fails only before the mark is raised: such an error says that nothing was done.
--
-- Numbers stay decimal texts: Lua's are doubles, and confuse neighbours above 2^53.

local token, how = ARGV[1], ARGV[2]
local writes = how == 'write'
if writes then
	how = ''
end
local numbered = how ~= '' and how ~= 'shared'
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
		refused = refused or token == exclusive and numbered and not above(how, done)
	end
	if refused then
		return redis.error_reply('REFUSED ' .. mark)
	end

	if how ~= 'shared' then
		mark = above(token, exclusive) and token or mark
	elseif above(token, exclusive) and above(token, shared) then
		mark = exclusive .. ' ' .. done .. ' ' .. token
	end
	redis.call('SET', KEYS[1], mark)
elseif not writes then
	-- Changes nothing, and is a write, which a replica refuses. So a replica, whose mark may be an
	-- old one, admits no reads. It refuses a command that is a write by itself.
	redis.call('PERSIST', KEYS[1])
end

-- The mark was raised first: it is there where a command fails.
if #KEYS == 2 and not numbered then -- most often
	local answer = redis.pcall(ARGV[3], KEYS[2], unpack(ARGV, 4))
	if type(answer) == 'table' and answer.err and not string.find(answer.err, 'READONLY', 1, true) then
		return redis.error_reply('FAILED ' .. answer.err)
	end
	return answer -- the error of a replica as it is: clients look for the master when they see it
end

local answers, next = {}, 3
for i = 2, #KEYS do
	local last = next + 1 + ARGV[next + 1]
	local answer = redis.pcall(ARGV[next], KEYS[i], unpack(ARGV, next + 2, last))
	answers[i - 1] = answer
	if type(answer) == 'table' and answer.err then
		return answers
	end
	next = last + 1
end
if numbered then
	redis.call('SET', KEYS[1], token .. ' ' .. how .. ' 0')
end
return answers
